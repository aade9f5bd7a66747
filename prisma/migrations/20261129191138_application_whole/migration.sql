-- AlterTable
ALTER TABLE "Release" ADD COLUMN     "preDeployedAt" TIMESTAMPTZ(3),
ADD COLUMN     "verdictLog" TEXT;

-- AlterTable
ALTER TABLE "SecretVersion" ADD COLUMN     "createdBy" TEXT NOT NULL DEFAULT '';

-- CreateTable
CREATE TABLE "ProjectEnv" (
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "ProjectEnv_pkey" PRIMARY KEY ("projectId","name")
);

-- CreateTable
CREATE TABLE "RegistryCredential" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "keyId" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "RegistryCredential_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "RegistryCredential_projectId_name_key" ON "RegistryCredential"("projectId", "name");

-- AddForeignKey
ALTER TABLE "ProjectEnv" ADD CONSTRAINT "ProjectEnv_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "RegistryCredential" ADD CONSTRAINT "RegistryCredential_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Secret" ADD CONSTRAINT "Secret_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;
