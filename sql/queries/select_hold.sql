-- The publication that holds this content back, in whatever space it is to be published.
select id, rolled_back_to
from publications
where kind = %(kind)s and instance = %(instance)s and is_current and %(content_version)s = any(held)
order by id desc
limit 1
