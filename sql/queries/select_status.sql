select publication.kind, publication.instance, publication.id, publication.run_id, publication.published_at,
    publication.counts, publication.code_versions, publication.withheld, publication.complete,
    space.id, space.fingerprint, space.state, publication.rolled_back_to, cardinality(publication.held)
from publications as publication
join embedding_spaces as space on space.id = publication.space_id
where publication.is_current
order by publication.kind, publication.instance, space.id
