select id, term, df
from {terms}
where df > 0 and length(term) between %(least)s and %(most)s and term like any(%(pieces)s::text[])
