"""Runs told to people and machines."""
