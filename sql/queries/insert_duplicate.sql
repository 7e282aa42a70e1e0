insert into duplicates (chunk_id, representative_id, jaccard) values (%s, %s, %s)
