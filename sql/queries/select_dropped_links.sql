select kind, instance, doc_key, relation, target, reason, detail
from dropped_links
order by kind, instance, doc_key, relation, target
