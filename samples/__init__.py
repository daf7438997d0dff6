"""Sample rigs, each made by the module of its name, and the demo that plays and measures them."""
