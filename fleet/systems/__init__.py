"""The catalogue: one folder a system, data in YAML, the rest in one small Python file."""
