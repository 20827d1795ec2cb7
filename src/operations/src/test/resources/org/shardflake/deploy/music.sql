CREATE TABLE "Genre" ("GenreId" integer PRIMARY KEY, "Name" varchar(120));
CREATE TABLE "Artist" ("ArtistId" integer PRIMARY KEY, "Name" varchar(120));
CREATE TABLE "Album" ("AlbumId" integer PRIMARY KEY, "ArtistId" integer NOT NULL REFERENCES "Artist");
CREATE TABLE "Label" ("LabelId" integer PRIMARY KEY, "Best" integer REFERENCES "Album");
ALTER TABLE "Album" ADD "LabelId" integer REFERENCES "Label";
CREATE TABLE "Track" ("TrackId" integer PRIMARY KEY, "AlbumId" integer REFERENCES "Album", "Name" varchar(200) NOT NULL, "GenreId" integer REFERENCES "Genre", "Unit Price" numeric(10, 2) NOT NULL);
CREATE TABLE "Employee" ("EmployeeId" integer PRIMARY KEY, "LastName" varchar(20) NOT NULL, "ReportsTo" integer REFERENCES "Employee");
CREATE TABLE "Customer" ("CustomerId" integer PRIMARY KEY, "FirstName" varchar(40) NOT NULL, "Email" varchar(60) NOT NULL UNIQUE,
                         "SupportRepId" integer REFERENCES "Employee");
CREATE INDEX "IFK_CustomerSupportRepId" ON "Customer" ("SupportRepId");
CREATE TABLE "Invoice" ("InvoiceId" integer PRIMARY KEY, "CustomerId" integer NOT NULL REFERENCES "Customer" ON DELETE NO ACTION, "InvoiceDate" timestamp NOT NULL,
                        "order" integer, "Total" numeric(10, 2) NOT NULL, "Parent" integer REFERENCES "Invoice");
CREATE TABLE "InvoiceLine" ("InvoiceLineId" integer PRIMARY KEY, "InvoiceId" integer NOT NULL REFERENCES "Invoice", "TrackId" integer NOT NULL REFERENCES "Track",
                            "Quantity" smallint DEFAULT 1 NOT NULL, CHECK ("Quantity" > 0));
CREATE TABLE "Playlist" ("PlaylistId" integer PRIMARY KEY, "CustomerId" integer NOT NULL REFERENCES "Customer", "Name" varchar(120));
CREATE TABLE "PlaylistTrack" ("PlaylistId" integer REFERENCES "Playlist", "TrackId" integer REFERENCES "Track", PRIMARY KEY ("PlaylistId", "TrackId"));
CREATE TABLE "Log" (at timestamptz, text text);
