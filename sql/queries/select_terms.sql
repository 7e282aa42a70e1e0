select id, term, df from {terms} where term = any(%(words)s::text[]) and df > 0 order by df, term
