"""Sample rigs, each made by the module of its name, and a demo that plays and measures them."""
