select chunk_id, representative_id, jaccard from duplicates order by chunk_id
