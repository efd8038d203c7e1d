"""The paper's figures in virtual time, and its fluid model against packets."""
