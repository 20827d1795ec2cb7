/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.messages;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;

@Entity
public class Message {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private Long id;

    private long uid;
    private String text;

    protected Message() {}

    Message(long uid, String text) {
        this.uid = uid;
        this.text = text;
    }

    public Long id() {
        return id;
    }

    public long uid() {
        return uid;
    }

    public String text() {
        return text;
    }

    void edit(String text) {
        this.text = text;
    }
}
