"""Live questions to running services; what is heard becomes a fact."""
