copy changed ({columns}, identifiers) from stdin (format binary)
