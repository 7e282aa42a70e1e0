"""Dagster objects made of the parts below: graph, checks, automation, sensors, io, resources. Knows no retrieval."""
