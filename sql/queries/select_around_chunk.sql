-- The chunks before and after one in its document, in order.
select near.id, near.ordinal, near.title, near.contextual_header, near.content
from doc_chunks as middle
join doc_chunks as near on near.kind = middle.kind and near.instance = middle.instance and near.doc_key = middle.doc_key
    and near.id <> middle.id and near.ordinal between middle.ordinal - %(count)s and middle.ordinal + %(count)s
where middle.id = %(id)s
order by near.ordinal
