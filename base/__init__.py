"""What every part of the project stands on. Its modules import none of ours."""
