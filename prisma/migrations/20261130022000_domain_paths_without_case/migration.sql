-- Caddy compares paths without the case of letters, so of two that differ in nothing else the younger was never served.
DELETE FROM "Domain" d USING "Domain" e
WHERE d.host = e.host AND lower(d.path) = lower(e.path) AND d.path <> e.path
  AND (d."changedAt", d.path) > (e."changedAt", e.path);

-- No index of Prisma's schema can say this.
CREATE UNIQUE INDEX "Domain_host_path_without_case" ON "Domain" (host, lower(path));
