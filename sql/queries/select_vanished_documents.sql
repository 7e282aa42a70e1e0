select document.doc_key, document.raw_key
from documents as document
where document.space_id = %(space_id)s and document.kind = %(kind)s and document.instance = %(instance)s
    and not exists (select from staged where staged.doc_key = document.doc_key)
order by document.doc_key
