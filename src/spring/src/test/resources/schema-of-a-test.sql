CREATE TABLE note (id bigint PRIMARY KEY);
