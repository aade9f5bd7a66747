-- AlterTable
ALTER TABLE "Artifact" ADD COLUMN     "configOf" TEXT;

-- AlterTable
ALTER TABLE "Domain" ADD COLUMN     "refusedAt" TIMESTAMPTZ(3),
ADD COLUMN     "refusedMessage" TEXT,
ADD COLUMN     "refusedPart" TEXT;

-- CreateIndex
CREATE INDEX "Artifact_configOf_idx" ON "Artifact"("configOf");
