insert into embedding_spaces (fingerprint, dimension) values (%(fingerprint)s, %(dimension)s)
on conflict (fingerprint) do nothing
