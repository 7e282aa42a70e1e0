-- How near some chunks are to a question.
select id, 1 - (embedding <=> %(embedding)s) as similarity, generation
from {chunks}
where id = any(%(ids)s)
