-- Caddy compares paths without the case of letters. Of two that differ in nothing else the one of the smaller resource id was
-- served, and the other told so: that one loses its row, and claims it again by the next change of its owner.
DELETE FROM "Domain" d USING "Domain" e
WHERE d.host = e.host AND lower(d.path) = lower(e.path)
  AND (d."resourceId" COLLATE "C", d.path COLLATE "C") > (e."resourceId" COLLATE "C", e.path COLLATE "C");

-- No index of Prisma's schema can say this.
CREATE UNIQUE INDEX "Domain_host_path_without_case" ON "Domain" (host, lower(path));
