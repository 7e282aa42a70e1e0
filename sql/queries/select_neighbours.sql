-- The chunks that stand before and after each of the given ones in its document, at most %(count)s on a side.
select middle.id, near.id
from {chunks} as middle
join {chunks} as near on near.kind = middle.kind and near.instance = middle.instance and near.doc_key = middle.doc_key
    and near.id <> middle.id and near.ordinal between middle.ordinal - %(count)s and middle.ordinal + %(count)s
where middle.id = any(%(ids)s)
order by near.ordinal
