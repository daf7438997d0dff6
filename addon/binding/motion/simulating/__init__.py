"""What depends on more than one frame: simulated in one pass, kept in the file, and looked up."""
