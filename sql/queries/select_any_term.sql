-- The text search query "any of these terms": the question's lexemes and its identifiers. Null when there is none.
select string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery::text
from (
    select lexeme from unnest(to_tsvector('english', %(query)s))
    union
    select unnest(%(identifiers)s::text[])
) as terms
