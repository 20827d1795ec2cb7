--liquibase formatted sql

--changeset demo:photo
CREATE TABLE photo (
    id bigint PRIMARY KEY,
    uid bigint NOT NULL,
    title text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
--rollback DROP TABLE photo;

--changeset demo:like
CREATE TABLE "like" (
    id bigint PRIMARY KEY,
    uid bigint NOT NULL,
    photo_id bigint NOT NULL REFERENCES photo,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
--rollback DROP TABLE "like";
