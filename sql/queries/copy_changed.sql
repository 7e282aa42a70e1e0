copy changed ({columns}) from stdin (format binary)
