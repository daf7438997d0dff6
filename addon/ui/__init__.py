"""Base classes and helpers of panels and operators."""
