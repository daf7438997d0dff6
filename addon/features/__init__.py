"""What constraints can be used for beyond reaching: each folder is one feature."""
