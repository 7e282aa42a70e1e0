-- Questions that got no good answer since a time: recorded as weak, or judged not useful by a reader; the most asked first.
with weak as (
    select words, generation, query, asked, hits, strength, last_asked
    from question_gaps
    where last_asked >= %(since)s
), judged as (
    select words, generation, (array_agg(query order by id desc))[1] as query,
        count(*) filter (where not useful) as not_useful, count(*) filter (where useful) as useful,
        (array_agg(comment order by id desc) filter (where not useful and comment is not null))[1:3] as comments,
        max(created_at) as last_judged
    from feedback
    where created_at >= %(since)s
    group by words, generation
    having bool_or(not useful)
)
select coalesce(weak.query, judged.query), coalesce(weak.generation, judged.generation), coalesce(weak.asked, 0),
    weak.hits, weak.strength, coalesce(judged.not_useful, 0), coalesce(judged.useful, 0),
    coalesce(judged.comments, array[]::text[]), greatest(weak.last_asked, judged.last_judged)
from weak
full join judged on judged.words = weak.words and coalesce(judged.generation, '') = coalesce(weak.generation, '')
order by coalesce(weak.asked, 0) + coalesce(judged.not_useful, 0) desc, 9 desc, 1
limit %(limit)s
