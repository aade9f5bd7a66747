-- AlterTable
ALTER TABLE "Resource" ADD COLUMN     "publishedOn" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- Where replicas are, they may be published.
UPDATE "Resource" r SET "publishedOn" = ARRAY(SELECT DISTINCT node FROM "Endpoint" e WHERE e."resourceId" = r.id);
