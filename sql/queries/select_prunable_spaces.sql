-- Spaces nobody reads: retired ones, and those whose filling was given up, to judge by their last publication.
select space.id, space.fingerprint, space.state, max(publication.published_at)
from embedding_spaces as space
left join publications as publication on publication.space_id = space.id
where space.state in ('retired', 'filling')
group by space.id
having space.state = 'retired' or coalesce(max(publication.published_at), space.created_at) < now() - make_interval(days => %(keep_days)s)
order by space.id
