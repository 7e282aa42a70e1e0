select coalesce(sum(chunks), 0) from facets where space_id = %(space_id)s
