"""A judged run, its summary, and the folder that is made whole or not at all."""
