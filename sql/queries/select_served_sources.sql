select distinct kind || '/' || instance as source from facets where space_id = %(space_id)s and chunks > 0 order by source
