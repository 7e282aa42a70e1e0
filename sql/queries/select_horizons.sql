-- By instance and space the earliest publication that stays ready to be rolled back to, and how many before it do not.
with ranked as (
    select
        publication.*,
        row_number() over (partition by publication.space_id, kind, instance order by publication.id desc) <= %(keep_publications)s
        or published_at > now() - make_interval(days => %(keep_days)s) as stays
    from publications as publication
    join embedding_spaces as space on space.id = publication.space_id and space.state <> 'registered'
    where publication.is_kept
)
select space_id, kind, instance, min(id) filter (where stays), count(*) filter (where not stays)
from ranked
group by space_id, kind, instance
having count(*) filter (where not stays) > 0
order by space_id, kind, instance
