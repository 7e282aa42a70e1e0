insert into refresh_requests (delivery_id, kind, instance, reason)
values (%(delivery_id)s, %(kind)s, %(instance)s, %(reason)s)
on conflict (delivery_id) do nothing
