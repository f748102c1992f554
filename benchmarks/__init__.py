"""Measurements of fleet; none of this is shipped."""
