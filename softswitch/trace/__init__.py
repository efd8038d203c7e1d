"""What traced programs report: `decoder.py` names the steps; `lines.py` and `json_lines.py` write
them."""
