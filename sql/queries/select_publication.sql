select id, space_id, input_version, content_version, code_versions, complete, withheld, is_kept, rolled_back_to, held, counts, diff
from publications
where id = %(publication_id)s and kind = %(kind)s and instance = %(instance)s
