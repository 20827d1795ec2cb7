/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import java.util.List;
import java.util.Map;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeId;
import org.shardflake.router.LookupTakenException;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
@RequestMapping("/api")
class PhotoController {

    private static final int PAGE = 20;

    private final PhotoService photos;
    private final PersonService people;
    private final ShardMoves moves;

    PhotoController(PhotoService photos, PersonService people, ShardMoves moves) {
        this.photos = photos;
        this.people = people;
        this.moves = moves;
    }

    @GetMapping("/countries")
    List<Country> countries() {
        return people.countries();
    }

    @GetMapping("/totals")
    Map<String, Long> totals() {
        return people.totals();
    }

    @PostMapping("/people")
    @ResponseStatus(HttpStatus.CREATED)
    Person signUp(@RequestParam String email, @RequestParam String name, @RequestParam String country) {
        try {
            return people.signUp(requireText("email", email), requireText("name", name), country);
        } catch (LookupTakenException e) {
            throw new ResponseStatusException(HttpStatus.CONFLICT, "someone has signed up as %s".formatted(email), e);
        } catch (DataIntegrityViolationException e) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "there is no country %s".formatted(country), e);
        }
    }

    @GetMapping("/people")
    Person signIn(@RequestParam String email) {
        return people.find(requireText("email", email))
                .orElseThrow(() -> new ResponseStatusException(
                        HttpStatus.NOT_FOUND, "nobody has signed up as %s".formatted(email)));
    }

    @GetMapping("/photos")
    List<Photo> newest() {
        return photos.newest(PAGE);
    }

    @PostMapping("/photos")
    @ResponseStatus(HttpStatus.CREATED)
    Photo add(@RequestParam String email, @RequestParam String title) {
        return photos.add(signIn(email), requireText("title", title));
    }

    @PostMapping("/photos/{photoId}/likes")
    Map<String, Long> like(@PathVariable ShardflakeId photoId, @RequestParam String user) {
        return photos.like(photoId, requireText("user", user))
                .map(likes -> Map.of("likes", likes))
                .orElseThrow(() ->
                        new ResponseStatusException(HttpStatus.NOT_FOUND, "there is no photo %s".formatted(photoId)));
    }

    @PostMapping("/shards/{shard}/move")
    Map<String, String> move(@PathVariable int shard) {
        ShardPlacement placement = moves.move(shard);
        return Map.of("server", placement.server().name());
    }

    private static String requireText(String name, String value) {
        String text = value.strip();
        if (text.isEmpty() || text.length() > 100) {
            throw new ResponseStatusException(
                    HttpStatus.BAD_REQUEST, "%s has %s characters, allowed: 1..100".formatted(name, text.length()));
        }
        return text;
    }
}
