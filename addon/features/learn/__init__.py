"""Joint limits learned from animation."""
