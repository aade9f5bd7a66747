-- AlterTable
ALTER TABLE "Resource" ADD COLUMN     "removesVolumes" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "volumesOn" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- Where replicas are whose release mounts volumes, there are volumes.
UPDATE "Resource" r SET "volumesOn" = ARRAY(
  SELECT DISTINCT e.node FROM "Endpoint" e JOIN "Release" l ON l."resourceId" = e."resourceId" AND l.number = e.release
  WHERE e."resourceId" = r.id AND jsonb_array_length(coalesce(l.template -> 'volumes', '[]')) > 0);

-- AlterTable
ALTER TABLE "Tombstone" ADD COLUMN     "removesVolumes" BOOLEAN NOT NULL DEFAULT false;
