select id, fingerprint, dimension, state from embedding_spaces where state = 'filling' order by id
