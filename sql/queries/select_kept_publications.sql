select
    publication.id, publication.run_id, publication.published_at, publication.counts, publication.code_versions,
    publication.is_current, publication.rolled_back_to, publication.diff
from publications as publication
join embedding_spaces as space on space.id = publication.space_id
where publication.kind = %(kind)s and publication.instance = %(instance)s and publication.is_kept and space.state = 'active'
order by publication.id desc
