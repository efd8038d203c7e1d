"""What the embedded switch can do on this machine, beside a bare copy loop and BMv2: `make
bench-switch`."""
