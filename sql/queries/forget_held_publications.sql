-- A space being filled must not be switched to with a content that was just rolled away.
update publications as publication set is_current = false
from embedding_spaces as space
where space.id = publication.space_id and space.state = 'filling'
    and publication.kind = %(kind)s and publication.instance = %(instance)s
    and publication.is_current and publication.content_version = any(%(held)s)
