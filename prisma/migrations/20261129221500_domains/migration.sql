-- CreateTable
CREATE TABLE "Domain" (
    "host" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "resourceId" TEXT NOT NULL,
    "changedAt" TIMESTAMPTZ(3) NOT NULL,
    "routed" BOOLEAN NOT NULL DEFAULT false,
    "reason" TEXT NOT NULL DEFAULT 'Pending',
    "message" TEXT NOT NULL DEFAULT '',
    "certificateIssuer" TEXT,
    "certificateNotAfter" TIMESTAMPTZ(3),
    "certificateError" TEXT,
    "certificateSeenAt" TIMESTAMPTZ(3),
    "toldAt" TIMESTAMPTZ(3),

    CONSTRAINT "Domain_pkey" PRIMARY KEY ("host","path")
);

-- CreateIndex
CREATE INDEX "Domain_resourceId_idx" ON "Domain"("resourceId");

-- AddForeignKey
ALTER TABLE "Domain" ADD CONSTRAINT "Domain_resourceId_fkey" FOREIGN KEY ("resourceId") REFERENCES "Resource"("id") ON DELETE CASCADE ON UPDATE CASCADE;
