"""Measurements: speed, memory, growth and endurance of the pipeline; each module is a program of its own."""
