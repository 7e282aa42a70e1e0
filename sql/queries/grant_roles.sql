select grant_roles()
